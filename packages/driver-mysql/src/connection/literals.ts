import type { LooseleafError } from '@looseleaf/core'
import { asBuffer, badOption, describeKind, isBytes } from '@looseleaf/core/internal'
import type { CompiledQuery } from 'kysely'
import { sessionToken } from '../settings/session-token.ts'
import { boundInteger } from './mysql2.ts'

/** Texts between the parameters of each statement, by the query node that all its uses share. */
const partsOf = new WeakMap<object, readonly string[]>()

/** Returns the text of a statement with its parameters, and with the token of its connection. */
export function textOf({ query, sql, parameters }: CompiledQuery, token: Uint8Array): string {
  let parts = partsOf.get(query)
  if (parts === undefined) partsOf.set(query, (parts = splitStatement(sql)))
  return writeLiterals(parts, parameters, token)
}

/**
 * Writes parameters into a statement as literals. Bytes and strings become hexadecimal, and numbers digits, so that no value needs
 * escaping. Text saves the server a prepared statement per length of a list.
 */
export function writeLiterals(
  parts: readonly string[],
  parameters: readonly unknown[],
  token: Uint8Array,
): string {
  let text = parts[0] as string
  for (let i = 0; i < parameters.length; i++) {
    const value = parameters[i]
    text += literal(value === sessionToken ? token : value) + (parts[i + 1] as string)
  }
  return text
}

/**
 * Converts the parameters of a prepared statement to values that mysql2 sends exactly: bytes and strings to Buffers, bigints to
 * typed integers. mysql2 sends a plain bigint as text, which a LIMIT rejects and servers compare as a double.
 */
export function boundValues(parameters: readonly unknown[], token: Buffer): unknown[] {
  return parameters.map((parameter) => {
    const value = parameter === sessionToken ? token : parameter
    switch (typeof value) {
      case 'number':
        if (Number.isFinite(value)) return value
        break
      case 'bigint':
        return boundInteger(value)
      case 'string':
        return Buffer.from(value)
      case 'object':
        if (value === null) return value
        if (isBytes(value)) return asBuffer(value)
        break
      default:
    }
    throw badParameter(value)
  })
}

/** Splits a statement at its parameters. It has no other question marks, since names are checked to be plain. */
export function splitStatement(text: string): readonly string[] {
  return text.split('?')
}

function literal(value: unknown): string {
  switch (typeof value) {
    case 'number':
      if (Number.isSafeInteger(value)) return String(value)
      if (Number.isFinite(value)) return floatLiteral(value)
      break
    case 'bigint':
      return String(value)
    case 'string':
      return `x'${Buffer.from(value).toString('hex')}'`
    case 'object':
      if (value === null) return 'NULL'
      if (isBytes(value)) return `x'${asBuffer(value).toString('hex')}'`
      break
    default:
  }
  throw badParameter(value)
}

function badParameter(value: unknown): LooseleafError {
  return badOption(
    `A statement's parameter has to be bytes, a string, a bigint, a finite number or null; got ${describeKind(value)}.`,
  )
}

/** Writes a double with an exponent: without one, servers read a decimal. */
function floatLiteral(value: number): string {
  const text = String(value)
  return text.includes('e') ? text : `${text}e0`
}

/** Returns the bytes of the strings and the bytes among these parameters. */
export function bytesOf(parameters: readonly unknown[]): number {
  let bytes = 0
  for (const value of parameters) {
    if (isBytes(value)) bytes += value.byteLength
    else if (typeof value === 'string') bytes += value.length
  }
  return bytes
}
