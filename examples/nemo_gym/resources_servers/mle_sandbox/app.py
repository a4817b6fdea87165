"""A resources server of NeMo Gym 0.4 that plays episodes on `sandbox serve`.

Sessions are NeMo Gym's: a cookie per rollout. Each has an episode; `simple_agent` calls its tools, and the
reward is the sum of what the server pays, which is the value of the final grade.
"""

from typing import Annotated, Any

from fastapi import Body, HTTPException, Request
from fastapi.responses import PlainTextResponse
from nemo_gym import base_resources_server as base
from nemo_gym.server_utils import SESSION_ID_KEY
from openenv import GenericEnvClient
from pydantic import PrivateAttr


class SandboxConfig(base.BaseResourcesServerConfig):
    sandbox_url: str = "http://127.0.0.1:8765"


class SandboxSeedRequest(base.BaseSeedSessionRequest):
    task: str


class SandboxVerifyRequest(base.BaseVerifyRequest):
    task: str


class SandboxVerifyResponse(base.BaseVerifyResponse):
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


class SandboxServer(base.SimpleResourcesServer):
    config: SandboxConfig
    _episodes: dict[str, Episode] = PrivateAttr(default_factory=dict)

    def setup_webserver(self):
        app = super().setup_webserver()
        app.post("/{name}")(self.call)  # after the routes of the base: what remains are tools
        return app

    async def seed_session(self, request: Request, body: SandboxSeedRequest) -> base.BaseSeedSessionResponse:
        episode = self._episodes[request.session[SESSION_ID_KEY]] = Episode(self.config.sandbox_url)
        await episode.client.connect()
        await episode.client.reset(task=body.task)
        return base.BaseSeedSessionResponse()

    async def call(self, request: Request, name: str, arguments: Annotated[dict[str, Any], Body()]):
        # Plain, because the model reads the body as it is.
        return PlainTextResponse(await self._episode(request).call(name, arguments))

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
