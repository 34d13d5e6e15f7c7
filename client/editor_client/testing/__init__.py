"""For the tests of applications: an editor in memory, without a server.

`Client("http://editor", api_key="ek_test", http_client=httpx2.Client(transport=FakeEditor()))` is a normal
client; its methods fill the editor.
"""

from editor_client.testing.transport import FakeEditor

__all__ = ["FakeEditor"]
