"""What a visitor is told when something is refused."""


class RefusedError(Exception):
    """A request that is answered by a message (what, the value seen, what to do) and a status."""

    def __init__(self, message: str, status: int = 422) -> None:
        super().__init__(message)
        self.status = status
