export interface NamedTest {
  readonly file: string
  readonly name: string
}

export interface Invariant {
  /** Such as `3.1`. */
  readonly number: string | undefined
  /** Includes the number. */
  readonly title: string
  readonly tests: readonly NamedTest[]
}

/** Returns each `### n.n title` of the page with its lines of the form: - `file`: "name of a test". */
export function readSpec(text: string): Invariant[] {
  const [, ...sections] = text.split(/^### /m)
  return sections.map((section) => {
    const body = section.split(/^## /m)[0] ?? ''
    const title = body.slice(0, body.indexOf('\n'))
    const tests = [...body.matchAll(/^- `([^`]+)`: "([^"]+)"$/gm)]
    return {
      number: /^\d+\.\d+/.exec(title)?.[0],
      title,
      tests: tests.map(([, file = '', name = '']) => ({ file, name })),
    }
  })
}
