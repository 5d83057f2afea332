import type { Person } from '../kinds/person.ts'
import type { Trace } from 'looseleaf'
import type { Pulse } from '../domain/site/pulse.ts'

/** Facts about the request, for all views of its page. */
export interface PageContext {
  /** The signed-in person. */
  readonly viewer: Person | undefined
  /** Number of unread entries on the person's home page; undefined if no person is signed in, and on the page of a refused form. */
  readonly unread: number | undefined
  /** True if a person is signed in and could not be read, because a shard does not answer. */
  readonly unknownViewer: boolean
  /** Names of the shards whose data the page lacks, because they do not answer. */
  readonly missingShards: readonly string[]
  /** Returns the token for every form of the page. A form without it is refused. */
  token(): string
  /** Address to redirect back to after a form. It can always be loaded by GET. */
  readonly path: string
  /** Returns an id for the entity that a form will insert, so that sending the form twice inserts it once. */
  newId(near?: string): string
  readonly now: Date
  /** Calls to the store so far; undefined if the request was refused before any. */
  readonly trace: Trace | undefined
  /** Returns the address of this page's X-ray; undefined if the site has no window. */
  xray(): string | undefined
  /** Address of the X-ray of the form that redirected to this page; undefined if there was none, or the site has no window. */
  readonly formXray: string | undefined
  /** Address of the window into the store; undefined if the site has none. */
  readonly window: string | undefined
  /** Numbers for the strip above the page; undefined if the site has no strip. */
  readonly pulse: Pulse | undefined
  /** Address of the style sheet, with its version. */
  readonly styles: string
  /** Address of the script, with its version. */
  readonly script: string
}
