"""Logistic regression by L-BFGS, which calls the loss several times a step."""
import torch

torch.manual_seed(0)
x = torch.randn(200, 6)
y = (x @ torch.randn(6) + 0.3 * torch.randn(200) > 0).float()
model = torch.nn.Linear(6, 1)
opt = torch.optim.LBFGS(model.parameters(), lr=0.2, max_iter=4, history_size=5)


def closure():
    opt.zero_grad()
    logits = model(x).squeeze(1)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, y)
    loss = loss + 1e-3 * model.weight.pow(2).sum()
    loss.backward()
    return loss


for step in range(20):
    print(step, "%.6f" % opt.step(closure).item())
torch.save(model.state_dict(), "lbfgs.pt")
