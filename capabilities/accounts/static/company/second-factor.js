// Security keys: the browser makes or uses a credential, and its answer is sent with the form.

prepare(document);

// Shows the forms for security keys in a page, or in a part that was added to it.
export function prepare(part) {
  if (!window.PublicKeyCredential?.parseCreationOptionsFromJSON) return;
  for (const form of part.querySelectorAll("form[data-webauthn][hidden]")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      if (form.elements.credential.value) return;
      event.preventDefault();
      event.stopPropagation();
      answerFor(form).then((credential) => {
        form.elements.credential.value = JSON.stringify(credential.toJSON());
        form.requestSubmit();
      }).catch(() => { form.querySelector("[role=alert]").hidden = false; });
    });
  }
}

function answerFor(form) {
  const options = JSON.parse(form.dataset.options);
  return form.dataset.webauthn === "create"
    ? navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
    : navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
}
