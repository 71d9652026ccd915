"""What goes wrong between us and an API server, in words for the board.

Raised by `client` and `kubeconfig`; `reflector` and `effects` decide by it whether to try again. Never holds a token.
"""

from __future__ import annotations

MENDING = {
    401: "the credentials in the kubeconfig are not accepted: renew them",
    403: "bind the cluster role system:kube-scheduler to this user",
}


class ClusterError(Exception):
    """The API server said no, or can't be reached.

    status: HTTP, 0 when no answer came. reason: the Status object's word ("Expired", "Conflict"). retry_after: how many
    seconds the server asks to wait, 0 when it does not say.
    """

    def __init__(
        self, message: str, *, status: int = 0, reason: str = "", retry_after: float = 0.0
    ) -> None:
        mending = MENDING.get(status)
        super().__init__(f"{message} ({mending})" if mending else message)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after

    @property
    def is_unanswered(self) -> bool:
        """Whether the server may or may not have done what was asked."""
        return self.status == 0 or self.status >= 500
