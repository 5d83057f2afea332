/** Returns every module that a source imports or re-exports, including types, with the line of its name. */
export function importsOf(source: string): { readonly specifier: string; readonly line: number }[] {
  const code = blankTexts(source)
  return [...code.matchAll(STATEMENT), ...code.matchAll(CALL)]
    .map((match) => ({ end: match.index + match[0].length, specifier: match[2] ?? '' }))
    .toSorted((a, b) => a.end - b.end)
    .map(({ end, specifier }) => ({ specifier, line: code.slice(0, end).split('\n').length }))
}

/** `import … from '…'`, `export … from '…'` and `import '…'`, which start a line in formatted code. */
const STATEMENT = /^[ \t]*(?:import|export)\b(?:[^'"`;()]*?\bfrom)?\s*(['"])([^'"\n]+)\1/gm

/** `import('…')` and `require('…')`. */
const CALL = /(?<![.\w])(?:import|require)\(\s*(['"])([^'"\n]+)\1/g

/**
 * Blanks comments and templates, which may show imports as examples. Other strings stay, because they hold
 * the specifiers.
 */
function blankTexts(source: string): string {
  return source.replace(TOKEN, (token) => (/^[/`]/.test(token) ? token.replace(/[^\n]/g, ' ') : token))
}

const TOKEN = /\/\*[^]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[^])*`/g

/** Returns `@scope/name` or `name`, without the path. */
export function packageOf(specifier: string): string {
  const parts = specifier.split('/')
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '')
}
