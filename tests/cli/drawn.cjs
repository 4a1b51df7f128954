// Draws texts as programs do that take them for Markdown: node drawn.cjs NODE_MODULES < TEXTS.json
// Prints, for each text, what marked and markdown-it make of it, in several of their modes.
const fs = require('node:fs')
const path = require('node:path')

const modules = process.argv[2]
const { marked } = require(path.join(modules, 'marked'))
const markdownIt = require(path.join(modules, 'markdown-it'))

const readers = {
  'marked, GFM': (text) => marked.parse(text, { gfm: true }),
  'marked, line breaks': (text) => marked.parse(text, { gfm: true, breaks: true }),
  'marked, plain': (text) => marked.parse(text, { gfm: false }),
  'markdown-it': (text) => markdownIt().render(text),
  'markdown-it, all': (text) => markdownIt({ html: true, linkify: true, typographer: true, breaks: true }).render(text),
  'markdown-it, CommonMark': (text) => markdownIt('commonmark').render(text),
}
const drawn = JSON.parse(fs.readFileSync(0, 'utf8')).map((text) =>
  Object.fromEntries(Object.entries(readers).map(([name, draw]) => [name, draw(text)])))
console.log(JSON.stringify(drawn))
