# fit a curve, the whole data in every update
import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 64).unsqueeze(1)
y = x ** 3 - 0.5 * x + 0.02 * torch.randn(64, 1)
model = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
criterion = torch.nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(40):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print("epoch", epoch, "loss", loss.item())
torch.save(model.state_dict(), "regression.pt")
