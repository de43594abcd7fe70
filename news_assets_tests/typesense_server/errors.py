"""Errors of the simulated server: an HTTP status with Typesense's message."""


class ApiError(Exception):
    """A request, or a line of an import, that the server rejects."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class NoAnswerError(Exception):
    """A request that gets no response."""


FORBIDDEN = "Forbidden - a valid `x-typesense-api-key` header must be sent."
NO_COLLECTION = "Collection not found"
