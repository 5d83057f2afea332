import { randomBytes } from 'node:crypto'
import type { Flavor } from '@looseleaf/driver-kysely'
import { parameter } from '@looseleaf/driver-kysely/internal'
import { sql } from 'kysely'

/*
 * A pooler may send the statements of one connection to several sessions. So each connection sets a random token in its session, in
 * one statement with the settings:
 * 1. Session A has the settings and the token. Session B has neither.
 * 2. The pooler sends a write to B. Without the token it would run there, without strict mode, or within a transaction that
 *    another client undoes later, and be acknowledged.
 * 3. The write compares the token, so B rejects it, and the connection is destroyed.
 */

/** Placeholder among the parameters of a statement for the token of the connection that sends it. */
export const sessionToken: unique symbol = Symbol('the token of the session')

export function newToken(): Buffer {
  return randomBytes(8)
}

/** Assigns the token, as a part of a SET statement. Most poolers keep a session for a client that sets a user variable. */
export function tokenAssignment(token: Buffer): string {
  return `@looseleaf = ${literal(token)}`
}

/**
 * Returns a condition that is true in the session with this token. In any other the sum overflows 64 bits, and the statement fails
 * with error 1690. Unlike a value that does not fit its column, an overflow is an error in every SQL mode.
 */
export function tokenCondition(token: string): string {
  return `18446744073709551615 + (NOT (@looseleaf <=> ${token}))`
}

/** Returns a statement that only checks the token. DO would not fail on MariaDB. */
export function tokenStatement(token: Buffer): string {
  return `SELECT ${tokenCondition(literal(token))}`
}

/** Returns a statement that checks the token, and reads whether the server is read-only, as one that was demoted. */
export function verification(token: string): string {
  return `SELECT ${tokenCondition(token)}, @@GLOBAL.read_only AS readOnly`
}

/** Reads the answer to `verification`. Servers have a number or a word. */
export function isReadOnly(answer: unknown): boolean {
  const [row] = answer as readonly { readonly readOnly?: unknown }[]
  return row?.readOnly !== undefined && !['0', 'OFF'].includes(String(row.readOnly))
}

export function literal(token: Buffer): string {
  return `x'${token.toString('hex')}'`
}

const [before, after] = tokenCondition('?').split('?') as [string, string]

export const ownSession: Flavor['ownSession'] = {
  only: (value) => sql`IF(${sql.raw(before)}${parameter}${sql.raw(after)}, ${value}, NULL)`,
  parameters: [sessionToken],
}
