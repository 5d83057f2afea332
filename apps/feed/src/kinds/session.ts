import { defineKind, typed } from 'looseleaf'

/** A signed-in browser. */
interface SessionProperties {
  readonly person_id: string
  readonly signed_in: Date
  readonly notice?: Notice
}

/** Result of a form, for the page that its sender is redirected to. It stays with the session until the next notice replaces it. */
export interface Notice {
  /** The act, and the thing that it was done to. */
  readonly title: string
  readonly about: string
  readonly lines: readonly NoticeLine[]
}

export interface NoticeLine {
  readonly text: string
  readonly refused: boolean
  /** Address of a page with more about it; empty for no link. */
  readonly href: string
  readonly label: string
}

export const Session = defineKind('session', {
  schema: typed<SessionProperties>(),
  near: 'person_id',
  /** Finds expired sessions. */
  indexes: { byPerson: { by: [{ person_id: 'uuid' }, { signed_in: 'time' }] } },
})
