// Exchange the token of the address for a cookie, then show the board. The token is in no request but this one.
(() => {
  const text = document.getElementById("enter-text");
  const enter = () => {
    const token = location.hash.slice(1);
    if (!token) return;
    history.replaceState(null, "", "/");
    text.textContent = "Opening …";
    fetch("/session", { method: "POST", body: token, credentials: "same-origin" }).then(
      (answer) => {
        if (answer.ok) location.replace("/");
        else text.textContent = "This address is not valid any more. Open the one that nexus-mcp board printed last.";
      },
      () => { text.textContent = "The board has ended. Start nexus-mcp board again."; },
    );
  };
  // An address that is pasted over this page differs only after the #, and no page is loaded for that.
  addEventListener("hashchange", enter);
  enter();
})();
