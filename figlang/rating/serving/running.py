"""Start the server of a study, tell the organiser the codes, and write the exports at its end."""

import logging
import socket
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from figlang.config import RateServeConfig
from figlang.errors import FiglangError
from figlang.files.whole import lock
from figlang.machine.printing import say
from figlang.rating.serving import exports, soundness
from figlang.rating.serving import study as asked
from figlang.rating.serving.app import Pages, application
from figlang.rating.serving.store import DATABASE, Store
from figlang.rating.serving.study import Study
from figlang.text.amounts import counted, form

SERVING = ".serving.lock"


def serve(folder: Path, config: RateServeConfig, console: Console) -> None:
    """Serve the pages of a new study, or of the one in the folder, until Ctrl-C.

    Raises:
        FiglangError: A package is missing, nobody rates, the address is taken, another process serves this
            folder, or a file cannot be read.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise FiglangError(
            "figlang rate serve needs the packages starlette and uvicorn; install them: "
            "pip install 'figlang[people]'"
        ) from error
    if not (config.raters or config.join or (folder / DATABASE).is_file()):
        raise FiglangError("nobody rates yet; give raters=[ann,ben], or join=true")
    try:
        with lock(folder / SERVING, folder, "folder=DIR"):
            study = asked.of(config, folder)
            store = Store(folder, study.signature)
            try:
                soundness.check(study, store, folder)
                store.enrol(config.raters)
                _run(study, store, folder, config, console)
            finally:
                store.close()
    except FiglangError:
        with suppress(OSError):
            folder.rmdir()  # made for the lock, if it is empty
        raise


def _run(study: Study, store: Store, folder: Path, config: RateServeConfig, console: Console) -> None:
    import uvicorn

    pages = Pages(study, store, folder, config)
    bound = _bound(config)
    host = f"[{config.host}]" if ":" in config.host else config.host  # an address of IPv6 has colons
    address = f"http://{host}:{bound.getsockname()[1]}/"
    for line in invitation(store, study, address, config.join):
        say(line, console)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # the invitation says everything
    running = uvicorn.Config(
        application(pages, tuple(config.names)),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=3,
    )
    try:
        uvicorn.Server(running).run(sockets=[bound])
    except KeyboardInterrupt:
        pass
    finally:
        bound.close()
    made = exports.write(study, store, folder, config.finished)
    say(f"{len(made)} {form(len(made), 'file is', 'files are')} in {folder / exports.FOLDER}", console)


def export(folder: Path, config: RateServeConfig, console: Console) -> None:
    """Write the exports of the study in a folder, also while another process serves it."""
    study = asked.read(folder)
    store = Store(folder, study.signature, new=False)
    try:
        soundness.check(study, store, folder)
        for path in exports.write(study, store, folder, config.finished):
            say(str(path), console)
    finally:
        store.close()


def invitation(store: Store, study: Study, address: str, joins: bool) -> list[str]:
    """The text for the organiser at the start: the address, and everybody's code.

    Args:
        store: The database of the study.
        study: The study.
        address: Address of the page.
        joins: Whether people may join by the study's own code.
    """
    codes = store.codes()
    width = max(len("organiser"), *map(len, codes))
    lines = [
        f"{counted(len(study.questions), 'question')}, {counted(study.checks, 'attention item')}. The "
        f"page: {address}",
        "",
    ]
    lines += [f"  {name or 'organiser':<{width}}  {code}" for name, code in codes.items()]
    if joins:
        lines += ["", f"Join: {address}?join={store.joining}&PROLIFIC_PID=ID"]
    return [*lines, "", "Ctrl-C ends the server and writes the exports. The same command goes on."]


def _bound(config: RateServeConfig) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((config.host, config.port))
        bound.listen(128)
    except OSError as error:
        bound.close()
        raise FiglangError(
            f"host={config.host} port={config.port} cannot be listened at ({error.strerror}); "
            "give another port=, or port=0 for a free one"
        ) from error
    return bound
