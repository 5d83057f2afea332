import { randomBytes } from 'node:crypto'
import { slot, type Flavor } from '@looseleaf/driver-kysely'
import { sql } from 'kysely'

/*
 * A session knows the connection that has set it up by a user variable, set together with its settings: a random token.
 * Statements that compare it fail in any other session, such as that of a pooler that hands statements to several.
 */

/** Stands among the parameters of a statement for the token of the connection that sends it. */
export const sessionToken: unique symbol = Symbol('the token of the session')

/** Nobody else has it, and it says nothing. */
export function newToken(): Buffer {
  return randomBytes(8)
}

/** Sets the token, as a part of a SET statement. A user variable also tells most poolers to keep the session. */
export function tokenAssignment(token: Buffer): string {
  return `@looseleaf = ${literal(token)}`
}

/**
 * True in the session that has this token; in any other its statement fails with error 1690, because the sum is more than
 * 64 bits hold. Unlike a value that does not fit its column, that is an error in every SQL mode.
 */
export function tokenCondition(token: string): string {
  return `18446744073709551615 + (NOT (@looseleaf <=> ${token}))`
}

/** For statements of which nothing is asked but that they fail elsewhere. DO would not fail on MariaDB. */
export function tokenStatement(token: Buffer): string {
  return `SELECT ${tokenCondition(literal(token))}`
}

export function literal(token: Buffer): string {
  return `x'${token.toString('hex')}'`
}

const [before, after] = tokenCondition('?').split('?') as [string, string]

export const ownSession: Flavor['ownSession'] = {
  only: (value) => sql`IF(${sql.raw(before)}${slot}${sql.raw(after)}, ${value}, NULL)`,
  parameters: [sessionToken],
}
