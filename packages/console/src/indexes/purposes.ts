import { markup, type Html } from '../kit/html.ts'
import type { Link } from '../kit/page.ts'

/** Descriptions of the purposes of indexes by their names, written by the application. */
export interface Purposes {
  readonly [index: string]: {
    /** A sentence or two. */
    readonly text: string
    /** A page of the application that queries the index. */
    readonly page?: Link | undefined
  }
}

/** Renders the description of an index; undefined without one. */
export function purposeOf(purposes: Purposes, index: string): Html | undefined {
  if (!Object.hasOwn(purposes, index)) return undefined
  const { text, page } = purposes[index]!
  return markup`<p>${text}${page && markup` See <a href="${page.href}">${page.label}</a>.`}</p>`
}
