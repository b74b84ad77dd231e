/** Makes an element. Every value enters the page as text. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The element of the page with this id. */
export function byId(id: string): HTMLElement {
  return document.getElementById(id)!;
}

/** Opens a dialog. Calls `done` with the value of the button that closes it, unless that is empty. */
export function ask(id: string, done: (value: string, dialog: HTMLDialogElement) => void): void {
  const dialog = byId(id) as HTMLDialogElement;
  for (const button of dialog.querySelectorAll("button")) {
    button.onclick = () => {
      dialog.close();
      if (button.value !== "") done(button.value, dialog);
    };
  }
  dialog.showModal();
}
