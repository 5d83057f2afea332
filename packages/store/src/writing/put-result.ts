import { formatId } from '@looseleaf/core'
import type { PutResult } from '../types.ts'
import { isLiving } from './decisions.ts'
import type { WriteOutcome } from './entity-writer.ts'

/** Returns the result of a write, as callers get it. */
export function putResult(
  id: Uint8Array,
  { found, version, indexed }: WriteOutcome,
  token: string,
): PutResult {
  return { id: formatId(id), version, indexed, created: !isLiving(found), token }
}
