const OPEN = '<details><summary>Tests</summary>'
const CLOSE = '</details>'

/**
 * Folds each list of tests of the specification, so that its invariants read in one go. A list that is folded already stays as it is, also
 * after lines were added to it.
 */
export function foldTests(page: string): string {
  const folded: string[] = []
  for (const line of unfolded(page)) {
    const isAfterTest = isTestLine(folded.at(-1))
    if (isTestLine(line) && !isAfterTest) folded.push(OPEN, '')
    if (!isTestLine(line) && isAfterTest) folded.push('', CLOSE)
    folded.push(line)
  }
  return folded.join('\n')
}

/** Returns the lines without folds, and without the blank lines that belong to the folds. */
function unfolded(page: string): string[] {
  return page.replaceAll(`${OPEN}\n\n`, '').replaceAll(`\n\n${CLOSE}`, '').split('\n')
}

function isTestLine(line: string | undefined): boolean {
  return /^- `[^`]+`: "[^"]+"$/.test(line ?? '')
}
