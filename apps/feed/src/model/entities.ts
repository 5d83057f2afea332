import type { Bag, Entity } from 'looseleaf'

/**
 * Everything on the site is an entity of one store, and `kind` says what it is. No table knows these types:
 * they are what this program makes of a bag of properties, and what does not fit is treated as absent.
 */
export interface Person {
  readonly id: string
  /** Stands in the address of the page and is typed to sign in: lower case letters, digits and hyphens. */
  readonly name: string
  readonly full_name: string
  readonly bio: string
  /** 0 to 359, the colour of the avatar. */
  readonly hue: number
  readonly joined: Date
}

export interface Source {
  readonly id: string
  readonly title: string
  /** What kind of thing it is, in a word or two. */
  readonly about: string
  readonly link: string | undefined
  readonly feed_link: string | undefined
  readonly user_id: string | undefined
  /** See `namesOfSource`. */
  readonly known_as: readonly string[]
  readonly added: Date
}

export interface Entry {
  readonly id: string
  readonly title: string
  readonly body: string | undefined
  readonly link: string | undefined
  readonly author: string | undefined
  readonly user_id: string | undefined
  readonly source_id: string | undefined
  /** The import that has brought it. */
  readonly import_id: string | undefined
  readonly published: Date
}

export interface Comment {
  readonly id: string
  readonly entry_id: string
  readonly user_id: string
  readonly text: string
  readonly commented: Date
}

export interface Like {
  readonly id: string
  readonly entry_id: string
  readonly user_id: string
  readonly liked: Date
}

/** A file that was imported. What it has brought carries its id as `import_id`. */
export interface Import {
  readonly id: string
  readonly user_id: string | undefined
  readonly title: string
  readonly format: string
  /** How many it has brought, less those that were taken out again; 0 until it has ended. */
  readonly entries: number
  readonly sources: number
  readonly imported: Date
}

export function asPerson(entity: Entity | undefined): Person | undefined {
  const name = textOf(entity, 'name')
  const joined = timeOf(entity, 'joined')
  if (entity?.['kind'] !== 'person' || name === undefined || joined === undefined) return undefined
  const hue = entity['hue']
  return {
    id: entity.id,
    name,
    full_name: textOf(entity, 'full_name') ?? name,
    bio: textOf(entity, 'bio') ?? '',
    hue: typeof hue === 'number' ? hue : 210,
    joined,
  }
}

export function asSource(entity: Entity | undefined): Source | undefined {
  const title = textOf(entity, 'title')
  const added = timeOf(entity, 'added')
  if (entity?.['kind'] !== 'source' || title === undefined || added === undefined) return undefined
  return {
    id: entity.id,
    title,
    about: textOf(entity, 'about') ?? '',
    link: linkOf(entity, 'link'),
    feed_link: linkOf(entity, 'feed_link'),
    user_id: textOf(entity, 'user_id'),
    known_as: textsOf(entity, 'known_as'),
    added,
  }
}

export function asEntry(entity: Entity | undefined): Entry | undefined {
  const title = textOf(entity, 'title')
  const published = timeOf(entity, 'published')
  if (entity?.['kind'] !== 'entry' || title === undefined || published === undefined) return undefined
  return {
    id: entity.id,
    title,
    body: textOf(entity, 'body'),
    link: linkOf(entity, 'link'),
    author: textOf(entity, 'author'),
    user_id: textOf(entity, 'user_id'),
    source_id: textOf(entity, 'source_id'),
    import_id: textOf(entity, 'import_id'),
    published,
  }
}

export function asComment(entity: Entity | undefined): Comment | undefined {
  const entry_id = textOf(entity, 'entry_id')
  const user_id = textOf(entity, 'user_id')
  const text = textOf(entity, 'text')
  const commented = timeOf(entity, 'commented')
  if (entity?.['kind'] !== 'comment' || !entry_id || !user_id || text === undefined || !commented)
    return undefined
  return { id: entity.id, entry_id, user_id, text, commented }
}

export function asLike(entity: Entity | undefined): Like | undefined {
  const entry_id = textOf(entity, 'entry_id')
  const user_id = textOf(entity, 'user_id')
  const liked = timeOf(entity, 'liked')
  if (entity?.['kind'] !== 'like' || !entry_id || !user_id || !liked) return undefined
  return { id: entity.id, entry_id, user_id, liked }
}

export function asImport(entity: Entity | undefined): Import | undefined {
  const title = textOf(entity, 'title')
  const imported = timeOf(entity, 'imported')
  if (entity?.['kind'] !== 'import' || title === undefined || imported === undefined) return undefined
  return {
    id: entity.id,
    user_id: textOf(entity, 'user_id'),
    title,
    format: textOf(entity, 'format') ?? '',
    entries: numberOf(entity, 'entries'),
    sources: numberOf(entity, 'sources'),
    imported,
  }
}

function textOf(bag: Bag | undefined, name: string): string | undefined {
  const value = bag?.[name]
  return typeof value === 'string' ? value : undefined
}

function textsOf(bag: Bag | undefined, name: string): readonly string[] {
  const value = bag?.[name]
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function numberOf(bag: Bag | undefined, name: string): number {
  const value = bag?.[name]
  return typeof value === 'number' ? value : 0
}

/** An address is written only after it was checked; but what a page makes a link of is looked at once more. */
function linkOf(bag: Bag | undefined, name: string): string | undefined {
  const text = textOf(bag, name)
  return text !== undefined && /^https?:\/\//.test(text) ? text : undefined
}

function timeOf(bag: Bag | undefined, name: string): Date | undefined {
  const value = bag?.[name]
  return value instanceof Date ? value : undefined
}
