"""One run, whatever the verb: whose folder it is, what it calls, costs and leaves out, how it stops and goes on."""
