"""Small image classifier. Saves the weights when it is done."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--accum", type=int, default=2)
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--out", default="classifier.pt")
args = parser.parse_args()

torch.manual_seed(args.seed)
CLASSES, SIDE = 5, 8


def images(count, seed):
    """Each class is a stripe pattern; the pictures are noisy."""
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, CLASSES, (count,), generator=g)
    rows = torch.arange(SIDE, dtype=torch.float32)
    pattern = torch.sin(rows[None, :] * (labels[:, None] + 1) * 0.7)
    noise = torch.randn(count, 1, SIDE, SIDE, generator=g)
    return TensorDataset(pattern[:, None, :, None] + 0.5 * noise, labels)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(16)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(16 * 4, CLASSES)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(self.drop(x.flatten(1)))


train_data, test_data = images(148, 1), images(45, 2)
train_loader = DataLoader(train_data, batch_size=args.batch_size, shuffle=True)
test_loader = DataLoader(test_data, batch_size=16)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)


def test():
    model.eval()
    loss, right = 0.0, 0
    with torch.no_grad():
        for x, y in test_loader:
            out = model(x)
            loss += F.cross_entropy(out, y, reduction="sum").item()
            right += (out.argmax(1) == y).sum().item()
    print("test: loss {:.5f}, accuracy {}/{}".format(loss / len(test_data), right, len(test_data)))


window = args.batch_size * args.accum
for epoch in range(args.epochs):
    model.train()
    for i, (x, y) in enumerate(train_loader):
        begin = i // args.accum * window
        rows = min(window, len(train_data) - begin)  # the last update of an epoch has fewer
        loss = F.cross_entropy(model(x), y, reduction="sum") / rows
        loss.backward()
        if (i + 1) % args.accum == 0 or i + 1 == len(train_loader):
            optimizer.step()
            optimizer.zero_grad()
            print("epoch {} batch {} loss {:.5f}".format(epoch, i, loss.item() * rows / len(x)))
    test()

torch.save(model.state_dict(), args.out)
