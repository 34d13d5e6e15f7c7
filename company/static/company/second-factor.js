// Security keys: the browser makes or uses a credential, and its answer is sent with the form.

const form = document.querySelector("form[data-webauthn]");

if (form && window.PublicKeyCredential?.parseCreationOptionsFromJSON) {
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    if (form.elements.credential.value) return;
    event.preventDefault();
    answer().then((credential) => {
      form.elements.credential.value = JSON.stringify(credential.toJSON());
      form.requestSubmit();
    }).catch(() => { form.querySelector("[role=alert]").hidden = false; });
  });
}

function answer() {
  const options = JSON.parse(document.getElementById("webauthn-options").textContent);
  return form.dataset.webauthn === "create"
    ? navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
    : navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
}
