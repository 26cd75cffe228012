// What the page does without asking the server, and the place where archives are dropped.
"use strict";

(() => {
  const IDLE_MILLISECONDS = 100;
  let turn = 0;

  // What the server has written into the page: the limit of the text, and the word to start with.
  const given = (name) => Number(document.getElementById("page").dataset[name]);

  // What was typed, once the typing pauses. What is too long is not even sent; the server says what the limit is.
  function typed(text, split) {
    const mine = ++turn;
    const value = text || "";
    const length = Array.from(value).length;
    const data = length > given("characters") ? { length } : { text: value, split };
    if (mine === 1) {
      return data;
    }
    return new Promise((resolve) => {
      setTimeout(() => resolve(mine === turn ? data : window.dash_clientside.no_update), IDLE_MILLISECONDS);
    });
  }

  // The words of the chosen sentence; the one that was chosen stays, as far as the sentence has it.
  function words(sentences, sentence, word) {
    const tokens = (sentences || [])[sentence] || [];
    const options = tokens.map((token, place) => ({ label: token, value: place }));
    if (!tokens.length) {
      return [options, null];
    }
    const wanted = word === null || word === undefined ? given("word") : word;
    return [options, Math.min(wanted, tokens.length - 1)];
  }

  // What the server answers, text or [tag, attributes, ...children], as elements. All text goes in as text.
  function node(tree) {
    if (typeof tree === "string") {
      return document.createTextNode(tree);
    }
    const [tag, attributes, ...children] = tree;
    const made = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    made.append(...children.map(node));
    return made;
  }

  function draw(tree) {
    const answer = window.dash_clientside.callback_context.inputs_list[0].id;
    const place = document.getElementById(answer.replace("-answer", "-view"));
    place.replaceChildren(...(tree ? [node(tree)] : []));
    return "view";
  }

  // The heat map is a table: thousands of cells are drawn at once, and a screen reader reads words and numbers. All text
  // goes in as text.
  const MOST_WITH_NUMBERS = 24;
  const MINUS = "\u2212";

  const heading = (text, scope) => node(["th", { scope }, ["bdi", {}, text]]);

  function heat(data) {
    const place = document.getElementById("heat-map");
    if (!data) {
      place.replaceChildren();
      return "wide empty";
    }
    const table = document.createElement("table");
    table.className = data.second.length > MOST_WITH_NUMBERS ? "heat small" : "heat";
    const top = table.createTHead().insertRow();
    top.append(document.createElement("td"), ...data.second.map((word) => heading(word, "col")));
    const body = table.createTBody();
    data.first.forEach((word, row) => {
      const line = body.insertRow();
      line.append(heading(word, "row"));
      data.second.forEach((other, column) => {
        const cosine = data.cosines[row][column];
        const cell = line.insertCell();
        const text = Math.abs(cosine).toFixed(2);
        cell.textContent = (cosine < 0 && text !== "0.00" ? MINUS : "") + text;
        cell.title = `${word} – ${other}: ${cell.textContent}`;
        cell.className = cosine < 0 ? "below" : cosine > 0.65 ? "high" : cosine > 0.55 ? "middle" : "";
        cell.style.setProperty("--share", `${Math.round(100 * Math.min(1, Math.abs(cosine)))}%`);
      });
    });
    place.replaceChildren(table);
    return "wide";
  }

  function theme(chosen) {
    document.documentElement.style.colorScheme = chosen === "auto" || !chosen ? "light dark" : chosen;
    return `theme-${chosen || "auto"}`;
  }

  window.dash_clientside = Object.assign({}, window.dash_clientside, { explorer: { typed, words, draw, heat, theme } });

  // Archives

  let mixes = [];

  function say(text, isError) {
    const place = document.getElementById("archive-message");
    place.textContent = text;
    place.classList.toggle("error", Boolean(isError));
  }

  function show() {
    document.getElementById("archive-remove").hidden = mixes.length === 0;
    window.dash_clientside.set_props("archives", { data: mixes });
  }

  async function take(files, limit) {
    for (const file of files) {
      if (file.size > limit) {
        say(`${file.name}: larger than ${Math.floor(limit / 2 ** 20)} MB, which is the limit.`, true);
        return;
      }
      say(`${file.name}: being read …`);
      try {
        const headers = { "X-Archive-Name": encodeURIComponent(file.name), "Content-Type": "application/octet-stream" };
        const response = await fetch("archive", { method: "POST", headers, body: file });
        const answer = await response.json();
        if (answer.error) {
          say(answer.error, true);
          return;
        }
        mixes = mixes.concat(answer.mixes);
        say(`${file.name}: read.`);
      } catch (error) {
        say(`${file.name}: could not be sent (${error.message}).`, true);
        return;
      } finally {
        show();
      }
    }
  }

  function prepare(place) {
    const limit = Number(place.dataset.limit);
    const input = document.createElement("input");
    Object.assign(input, { type: "file", multiple: true, accept: ".gz,.tgz,.tar", id: "archive-input" });
    const label = document.createElement("label");
    label.htmlFor = input.id;
    label.textContent = "Drop model.tar.gz here, or choose files: ";
    const remove = document.createElement("button");
    Object.assign(remove, { type: "button", id: "archive-remove", textContent: "Remove all", hidden: true });
    place.append(label, input, remove);
    input.addEventListener("change", async () => {
      await take(Array.from(input.files), limit);
      input.value = "";
    });
    remove.addEventListener("click", () => {
      mixes = [];
      say("");
      show();
    });
    // Also beside the place: a browser that gets a file anywhere else would leave the page for it.
    const over = (is) => place.classList.toggle("over", is);
    window.addEventListener("dragover", (event) => {
      event.preventDefault();
      over(true);
    });
    window.addEventListener("dragleave", () => over(false));
    window.addEventListener("drop", (event) => {
      event.preventDefault();
      over(false);
      take(Array.from(event.dataTransfer.files), limit);
    });
  }

  const observer = new MutationObserver(() => {
    const place = document.getElementById("archive-drop");
    if (place) {
      observer.disconnect();
      prepare(place);
    }
  });
  observer.observe(document.documentElement, { childList: true, subtree: true });
})();
