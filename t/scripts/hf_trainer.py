"""Hugging Face's Trainer on a tiny GPT-2 that is made up here: nothing is downloaded."""
import argparse
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint


class Rows(Dataset):
    """Each token follows from the one before it, with some noise."""

    def __init__(self, count, seed, length=16, vocab=40):
        g = torch.Generator().manual_seed(seed)
        rows = [torch.randint(0, vocab, (count,), generator=g)]
        for _ in range(length - 1):
            rows.append((3 * rows[-1] + torch.randint(0, 3, (count,), generator=g)) % vocab)
        self.rows = torch.stack(rows, 1)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i], "labels": self.rows[i]}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--accum", type=int, default=2)
    p.add_argument("--max-steps", type=int, default=60)
    p.add_argument("--save-steps", type=int, default=5)
    p.add_argument("--dir", default="hf")
    p.add_argument("--resume", action="store_true")
    args = p.parse_args()
    torch.manual_seed(3)
    config = GPT2Config(vocab_size=40, n_positions=16, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    settings = TrainingArguments(
        output_dir=args.dir,
        per_device_train_batch_size=args.batch_size,
        per_device_eval_batch_size=8,
        gradient_accumulation_steps=args.accum,
        max_steps=args.max_steps,
        learning_rate=2e-3,
        lr_scheduler_type="cosine",
        warmup_steps=4,
        save_steps=args.save_steps,
        eval_strategy="steps",
        eval_steps=5,
        logging_steps=1,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        seed=3,
    )
    trainer = Trainer(GPT2LMHeadModel(config), settings, train_dataset=Rows(96, 1), eval_dataset=Rows(20, 2))
    trainer.train(resume_from_checkpoint=get_last_checkpoint(args.dir) if args.resume else None)
    for entry in trainer.state.log_history:
        if "loss" in entry:
            print("step", entry["step"], "loss", entry["loss"])


if __name__ == "__main__":
    main()
