import type { Output } from '../output/output.ts'
import type { Finding, Grade } from './facts.ts'
import { gradeOf } from './rules.ts'

const SENTENCES: Readonly<Record<Grade, string>> = {
  well: 'All is well.',
  look: 'Look: reads and writes work as promised, but the findings need attention on a working day.',
  act: 'Act: some reads or writes fail or return wrong results, or data is at risk.',
}

/** Returns the opinion as one line. */
export function gradeText({ colors }: Output, findings: readonly Finding[]): string {
  const grade = gradeOf(findings)
  const color = { well: colors.green, look: colors.yellow, act: colors.red }[grade]
  return color(SENTENCES[grade])
}

export function findingsJson(findings: readonly Finding[]): unknown {
  return findings.map(({ about = null, ...finding }) => ({ ...finding, about }))
}

/** Returns one line per finding for people, with its instruction. */
export function findingsText({ colors }: Output, findings: readonly Finding[]): readonly string[] {
  return findings.map(({ grade, rule, about, problem, instruction, see }) => {
    const subject = about === undefined ? '' : `${about}: `
    const color = grade === 'act' ? colors.red : colors.yellow
    return `${color(`${grade}: ${rule}:`)} ${subject}${sentence(problem)} To do: ${sentence(instruction)} (operations.md, "${see}")`
  })
}

/** Adds a full stop unless the text, such as the message of an error, already ends a sentence or is shortened. */
function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`
}
