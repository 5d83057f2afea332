import { LooseleafError } from '@looseleaf/core'
import { describeKind } from '@looseleaf/core/internal'
import { markup, type Html } from '../html/html.ts'
import type { Link } from '../html/page.ts'

/** Description of the purpose of an index, written by the application. */
export interface IndexPurpose {
  /** A sentence or two. */
  readonly text: string
  /** A page of the application that queries the index. */
  readonly page?: Link | undefined
}

/** Descriptions by the name of the index. */
export type Purposes = Readonly<Record<string, IndexPurpose>>

/** Checks the option `purposes`. Throws `BAD_OPTION`. */
export function checkPurposes(purposes: Purposes): void {
  const isPurpose = (value: unknown): boolean =>
    typeof value === 'object' && value !== null && typeof (value as Partial<IndexPurpose>).text === 'string'
  if (typeof purposes === 'object' && purposes !== null && Object.values(purposes).every(isPurpose)) return
  throw new LooseleafError(
    'BAD_OPTION',
    `createConsole takes { purposes }, an object with a { text } for the name of each index; got ${describeKind(purposes)}.`,
  )
}

/** Renders the description of an index; undefined without one. */
export function purposeOf(purposes: Purposes, index: string): Html | undefined {
  if (!Object.hasOwn(purposes, index)) return undefined
  const { text, page } = purposes[index] as IndexPurpose
  return markup`<p>${text}${page && markup` See <a href="${page.href}">${page.label}</a>.`}</p>`
}
