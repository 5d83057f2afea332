import { json } from './json-side.ts'
import { limit } from './limit/limit-side.ts'
import {
  dictionary,
  entityFirst,
  followed,
  looseleaf,
  raised,
  shapes,
  sqliteLooseleaf,
} from './looseleaf-side.ts'
import { handWritten } from './mysql-side.ts'
import { everySpan, requests, sampled } from './observed-side.ts'
import { pongo } from './pongo-side.ts'
import type { SideDefinition } from './side.ts'
import { sqliteHandWritten } from './sqlite-side.ts'

/** All sides, in the order of tables and plots. A new side is a file, a name in `side-names.ts` and an entry here. */
export const sides: readonly SideDefinition[] = [
  looseleaf,
  entityFirst,
  shapes,
  dictionary,
  requests,
  sampled,
  everySpan,
  raised,
  followed,
  handWritten,
  limit,
  json,
  pongo,
  sqliteLooseleaf,
  sqliteHandWritten,
]

export function sideOf(name: string): SideDefinition {
  const found = sides.find((side) => side.name === name)
  if (found === undefined) throw new Error(`There is no side ${name}.`)
  return found
}
