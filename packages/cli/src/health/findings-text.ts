import type { Output } from '../output.ts'
import type { Finding, Grade } from './facts.ts'
import { gradeOf } from './rules.ts'

const SAYS: Readonly<Record<Grade, string>> = {
  well: 'All is well.',
  look: 'Look: nobody is served wrong, and this should be looked into.',
  act: 'Act: some reads or writes are not as they should be, or data is at risk.',
}

/** The opinion, in a line. */
export function gradeText({ colors }: Output, findings: readonly Finding[]): string {
  const grade = gradeOf(findings)
  const color = { well: colors.green, look: colors.yellow, act: colors.red }[grade]
  return color(SAYS[grade])
}

/** As `--json` prints them. */
export function findingsJson(findings: readonly Finding[]): unknown {
  return findings.map(({ about = null, ...finding }) => ({ ...finding, about }))
}

/** A line each for people, with what to do. */
export function findingsText({ colors }: Output, findings: readonly Finding[]): readonly string[] {
  return findings.map(({ grade, rule, about, what, todo, see }) => {
    const where = about === undefined ? '' : `${about}: `
    const color = grade === 'act' ? colors.red : colors.yellow
    return `${color(`${grade}: ${rule}:`)} ${where}${sentence(what)} To do: ${sentence(todo)} (operations.md, "${see}")`
  })
}

/** What a message says may end with a stop already. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
