// The colours of LARS programs in Ace: the same words as in the grammar for other editors.
"use strict";

ace.define("larspark/mode", (require, exports) => {
  const oop = require("ace/lib/oop");
  const { Mode: TextMode } = require("ace/mode/text");
  const { TextHighlightRules } = require("ace/mode/text_highlight_rules");

  const Rules = function () {
    this.$rules = {
      start: [
        { token: "comment", regex: /\/\*/, next: "slashed" },
        { token: "comment", regex: /%\*/, next: "starred" },
        { token: "comment", regex: /(?:%|\/\/).*$/ },
        { token: "string", regex: /"(?:[^"\\]|\\.)*"?/ },
        { token: "keyword", regex: /#(?:tick|input|show|remember|background|include)\b/ },
        { token: "support.function", regex: /#(?:count|sum|min|max|avg)\b/ },
        { token: "support.function", regex: /\b(?:count|sum|min|max|avg)(?=\s+of\b)/ },
        { token: "keyword", regex: /\b(?:not|and|or|some|always|reset)\b|[∧∨¬◇□▷⊞→⊤⊥]/ },
        { token: "keyword", regex: /\b(?:at|in|mod|every|by|only|as|session|ended|of|where|now)\b/ },
        { token: "constant.language", regex: /\b(?:true|false)\b/ },
        { token: "constant.numeric", regex: /\b[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\b/ },
        { token: "variable", regex: /\b_?[A-Z][A-Za-z0-9_]*\b|\b_\b/ },
        { token: "entity.name.function", regex: /\b[a-z][A-Za-z0-9_]*(?=\s*\()/ },
        { token: "identifier", regex: /\b[a-z][A-Za-z0-9_]*/ },
        { token: "keyword.operator", regex: /:-|->|!=|<=|>=|[-+*/=<>@#]/ },
      ],
      slashed: [
        { token: "comment", regex: /.*?\*\//, next: "start" },
        { defaultToken: "comment" },
      ],
      starred: [
        { token: "comment", regex: /.*?\*%/, next: "start" },
        { defaultToken: "comment" },
      ],
    };
    this.normalizeRules();
  };
  oop.inherits(Rules, TextHighlightRules);

  const Mode = function () {
    this.HighlightRules = Rules;
    this.$id = "larspark/mode";
    this.lineCommentStart = "%";
  };
  oop.inherits(Mode, TextMode);
  exports.Mode = Mode;
});

// The colours themselves are in studio.css.
ace.define("larspark/theme", (require, exports) => {
  exports.isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  exports.cssClass = "ace-lars";
  exports.cssText = "";
});
