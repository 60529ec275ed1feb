"""An environment of your own: a held bar slides down by a given distance, by the grip alone.

pip install 'bristle[gym]'
python examples/python/own_environment.py
"""

# ruff: noqa: D102
import gymnasium
import numpy as np

from bristle.gym import ContactVectorEnv


class LowerVectorEnv(ContactVectorEnv):
    """Lowers bars of unknown mass and friction."""

    text = """
        duration = 1
        step = { tolerance = 1e-5 }
        contact = { model = "reduced", surface = "ellipsoid" }
        patch = { shape = "disc", size = 0.02 }
        friction = { mu_c = { uniform = [0.4, 0.9] } }
        body = { kind = "gripper", mass = { uniform = [0.1, 0.3] }, inertia = 1e-3 }
        inputs = { gravity = [0, -9.81], normal_force = 10 }
    """
    size, view = (0.02, 0.12), 0.2
    single_observation_space = gymnasium.spaces.Box(-10.0, 10.0, (3,), np.float32)
    single_action_space = gymnasium.spaces.Box(0.0, 10.0, (1,), np.float32)

    def begin(self, ids, draws):
        self.depth = getattr(self, "depth", np.zeros(self.num_envs))
        self.depth[ids] = draws.uniform(0.005, 0.03)[:, 0]

    def control(self, actions):
        return {"normal_force": actions[:, 0]}

    def missing(self):
        return self.batch.pose[:, 1] + self.depth

    def observe(self):
        return np.stack([100 * self.missing(), self.batch.twist[:, 1], self.batch.normal_force / 10], axis=1)

    def reward(self, terminated, truncated):
        return -100 * np.abs(self.missing()) - 10.0 * terminated

    def terminated(self):
        return self.missing() < -0.02

    def success(self):
        return np.abs(self.missing()) < 0.002

    def goal(self):
        return np.stack([0 * self.depth, -self.depth, 0 * self.depth], axis=1)


if __name__ == "__main__":
    gymnasium.register("Lower-v0", vector_entry_point=LowerVectorEnv)
    envs = gymnasium.make_vec("Lower-v0", num_envs=64, render_mode="rgb_array")
    seen, _ = envs.reset(seed=0)
    for _ in range(99):
        # Open while there is far to go at the present speed, else hold.
        missing, speed = seen[:, 0] / 100, -seen[:, 1]
        seen, _, _, _, infos = envs.step(np.where(missing > 0.002 + 0.04 * speed, 0.0, 10.0)[:, None])
    print(f"{100 * infos['success'].mean():.0f} % of the bars are within 2 mm of their goal")
