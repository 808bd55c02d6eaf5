import hydra


@hydra.main(version_base="1.3", config_path=".", config_name="train")
def main(cfg: object) -> None:
    pass
