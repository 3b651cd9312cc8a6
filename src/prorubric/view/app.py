"""The app: static pages, and the routes under `/api` that they ask.

Whatever a run contains goes out as JSON and is shown as text. What cannot be found, read or done is an answer with one
line in `error`; it never ends the server.
"""

from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from prorubric.errors import ProRubricError
from prorubric.report import page
from prorubric.rubric.base import read_fault
from prorubric.view import routes
from prorubric.view.config import ViewConfig
from prorubric.view.review_routes import make_review_router

STATIC = Path(__file__).parent / "static"
_LOOK = Path(page.__file__).parent / "assets" / "page.css"


def make_app(root: Path, *, config: ViewConfig) -> FastAPI:
    """The app about everything below a folder; `Gate` belongs around it."""
    app = FastAPI(title="prorubric view", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.root, app.state.config = root.resolve(), config
    for error in (HTTPException, RequestValidationError, ProRubricError, OSError, Exception):
        app.add_exception_handler(error, _tell)

    app.include_router(make_review_router(root, config))

    @app.get("/")
    def get_index() -> Response:
        return FileResponse(STATIC / "index.html")

    @app.get("/static/page.css")
    def get_look() -> Response:
        return FileResponse(_LOOK)

    app.state.shelf = routes.Shelf(root.resolve(), config)
    app.include_router(routes.router)
    app.mount("/static", StaticFiles(directory=STATIC))
    return app


async def _tell(_: Request, error: Exception) -> Response:
    """One line about what went wrong; its status says whose fault it is."""
    if isinstance(error, HTTPException):
        return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)
    if isinstance(error, RequestValidationError):
        fault = error.errors()[0]
        place = ".".join(str(step) for step in fault["loc"][1:])
        return JSONResponse({"error": f"{place}: {read_fault(fault).message}"}, 422)
    if isinstance(error, OSError):  # a full disk, a folder that may only be read
        return JSONResponse({"error": f"{error.filename or 'a file'}: {error.strerror or error}"}, 500)
    if isinstance(error, ProRubricError):
        return JSONResponse({"error": str(error)}, 422)
    line = f"prorubric view failed ({type(error).__name__}); the terminal it runs in has the details"
    return JSONResponse({"error": line}, 500)
