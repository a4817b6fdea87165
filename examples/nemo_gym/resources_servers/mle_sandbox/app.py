"""A resources server of NeMo Gym 0.4 that plays episodes on `sandbox serve`.

Sessions are NeMo Gym's: a cookie per rollout. Each has an episode; `simple_agent` calls its tools, and the
reward is the sum of what the server pays, which is the value of the final grade.
"""

from typing import Annotated, Any

from fastapi import Body, HTTPException, Request
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseSeedSessionRequest,
    BaseSeedSessionResponse,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from nemo_gym.server_utils import SESSION_ID_KEY
from openenv import GenericEnvClient
from pydantic import PrivateAttr


class SandboxConfig(BaseResourcesServerConfig):
    sandbox_url: str = "http://127.0.0.1:8765"


class SandboxSeedRequest(BaseSeedSessionRequest):
    """A row of `rows.py`; only its task counts here."""

    task: str


class SandboxVerifyRequest(BaseVerifyRequest):
    task: str


class SandboxVerifyResponse(BaseVerifyResponse):
    task: str


class Episode:
    def __init__(self, url):
        # A step may have to wait for a free slot.
        self.client = GenericEnvClient(url, message_timeout_s=900)
        self.total, self.done = 0.0, False

    async def call(self, name, arguments):
        if self.done:
            return "the episode is over"
        step = await self.client.step({"tool_name": name, "arguments": arguments})
        self.total, self.done = self.total + step.reward, step.done
        return step.observation["result"]


class SandboxServer(SimpleResourcesServer):
    config: SandboxConfig
    _episodes: dict[str, Episode] = PrivateAttr(default_factory=dict)

    def setup_webserver(self):
        app = super().setup_webserver()
        app.post("/{name}")(self.call)  # after the routes of the base: what remains are tools
        return app

    async def seed_session(self, request: Request, body: SandboxSeedRequest) -> BaseSeedSessionResponse:
        episode = self._episodes[request.session[SESSION_ID_KEY]] = Episode(self.config.sandbox_url)
        await episode.client.connect()
        await episode.client.reset(task=body.task)
        return BaseSeedSessionResponse()

    async def call(self, request: Request, name: str, arguments: Annotated[dict[str, Any], Body()]) -> str:
        return await self._episode(request).call(name, arguments)

    async def verify(self, request: Request, body: SandboxVerifyRequest) -> SandboxVerifyResponse:
        episode = self._episode(request)
        await episode.call("submit", {})  # unless the policy did
        await episode.client.close()
        del self._episodes[request.session[SESSION_ID_KEY]]
        return SandboxVerifyResponse(**body.model_dump(), reward=episode.total)

    def _episode(self, request):
        if episode := self._episodes.get(request.session[SESSION_ID_KEY]):
            return episode
        raise HTTPException(409, "this session has no episode: call /seed_session first")


if __name__ == "__main__":
    SandboxServer.run_webserver()
