import type { Output } from '../output.ts'
import type { Finding } from './facts.ts'

/** A line each for people, with what to do. */
export function findingsText({ colors }: Output, findings: readonly Finding[]): readonly string[] {
  return findings.map(({ rule, about, what, todo, see }) => {
    const where = about === undefined ? '' : `${about}: `
    return `${colors.red(`${rule}:`)} ${where}${what}. To do: ${todo}. (operations.md, "${see}")`
  })
}
