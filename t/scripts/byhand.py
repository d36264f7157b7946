# gradient descent without an optimizer
import torch

torch.manual_seed(0)
x = torch.linspace(-2, 2, 128).unsqueeze(1)
y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)
net = torch.nn.Sequential(torch.nn.Linear(1, 24), torch.nn.Tanh(), torch.nn.Linear(24, 1))
lr = 0.05
for it in range(40):
    i = torch.randint(0, 128, (16,))
    loss = ((net(x[i]) - y[i]) ** 2).mean()
    net.zero_grad()
    loss.backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= lr * p.grad
    print(it, f"{loss.item():.6f}")
torch.save(net.state_dict(), "byhand.pt")
