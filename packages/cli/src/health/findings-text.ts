import type { Output } from '../output.ts'
import type { Finding } from './facts.ts'

/** A line each for people, with what to do. */
export function findingsText({ colors }: Output, findings: readonly Finding[]): readonly string[] {
  return findings.map(({ rule, about, what, todo, see }) => {
    const where = about === undefined ? '' : `${about}: `
    return `${colors.red(`${rule}:`)} ${where}${sentence(what)} To do: ${sentence(todo)} (operations.md, "${see}")`
  })
}

/** What a message says may end with a stop already. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
