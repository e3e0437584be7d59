"""An OpenEnv server: guess a number that the seed hides. `python openenv_guess.py PORT`."""

import os
import sys

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app

from hone.environments.hashing import splitmix


class Guess(Action):
    text: str


class Answer(Observation):
    said: str


class Guessing(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._number, self._steps = 0, 0

    def reset(self, seed: int | None = None, most: int = 9) -> Answer:
        self._number, self._steps = splitmix(seed or 0) % most + 1, 0
        return Answer(said=f"a number from 1 to {most}?")

    def step(self, action: Guess) -> Answer:
        self._steps += 1
        if action.text == "DIE":
            os._exit(1)
        if action.text == "RAISE":
            raise RuntimeError("the environment's own defect")
        guess = int(action.text)
        if guess == self._number:
            return Answer(said="right", done=True, reward=1.0)
        return Answer(said="more" if guess < self._number else "less", reward=0.0)

    @property
    def state(self) -> State:
        return State(step_count=self._steps)


app = create_fastapi_app(Guessing, Guess, Answer, max_concurrent_envs=8)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
