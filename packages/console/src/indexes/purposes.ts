import { markup, type Html } from '../kit/html.ts'
import type { Link } from '../kit/page.ts'

/** Description of the purpose of an index, written by the application. */
export interface IndexPurpose {
  /** A sentence or two. */
  readonly text: string
  /** A page of the application that queries the index. */
  readonly page?: Link | undefined
}

export type Purposes = Readonly<Record<string, IndexPurpose>>

/** Renders the description of an index; undefined without one. */
export function purposeOf(purposes: Purposes, index: string): Html | undefined {
  if (!Object.hasOwn(purposes, index)) return undefined
  const { text, page } = purposes[index] as IndexPurpose
  return markup`<p>${text}${page && markup` See <a href="${page.href}">${page.label}</a>.`}</p>`
}
