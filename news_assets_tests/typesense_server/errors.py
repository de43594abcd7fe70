"""The one error of the test server: an HTTP status with Typesense's message. Messages stand where they are raised."""


class ApiError(Exception):
    """A request, or one line of an import, that the server refuses."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class NoAnswerError(Exception):
    """A request the server never answers."""


FORBIDDEN = "Forbidden - a valid `x-typesense-api-key` header must be sent."
NO_COLLECTION = "Collection not found"
