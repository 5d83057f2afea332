import { describeKind, LooseleafError } from '@looseleaf/core'
import { markup, type Html } from './html.ts'
import type { Link } from './page.ts'

/** What an index is for, in the words of the application. */
export interface IndexPurpose {
  /** A sentence or two. */
  readonly text: string
  /** A page of the application that asks it. */
  readonly page?: Link | undefined
}

/** By the names of the indexes. */
export type Purposes = Readonly<Record<string, IndexPurpose>>

/** Throws `BAD_OPTION`. */
export function checkPurposes(purposes: Purposes): void {
  const isRight = (one: unknown): boolean =>
    typeof one === 'object' && one !== null && typeof (one as Partial<IndexPurpose>).text === 'string'
  if (typeof purposes === 'object' && purposes !== null && Object.values(purposes).every(isRight)) return
  throw new LooseleafError(
    'BAD_OPTION',
    `createConsole takes { purposes }, an object with a { text } for the name of each index; got ${describeKind(purposes)}.`,
  )
}

/** Nothing for an index of which the application has said nothing. */
export function purposeOf(purposes: Purposes, index: string): Html | undefined {
  if (!Object.hasOwn(purposes, index)) return undefined
  const { text, page } = purposes[index] as IndexPurpose
  return markup`<p>${text}${page && markup` See <a href="${page.href}">${page.label}</a>.`}</p>`
}
