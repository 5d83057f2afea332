import { bucketOfId, isId, parseId, type DataStore, type Entities, type Item } from 'looseleaf'
import { isThere } from '../site/unless-there.ts'

export interface PostOptions {
  /** Id from the form, which makes posting idempotent. */
  readonly once?: string | undefined
  readonly now?: Date
}

/**
 * Inserts an entity under the id that its form contains, so that a form sent twice inserts once. Returns the id. If the stored entity
 * is not the same by `isSame`, because the form was sent again with other content, it inserts under a new id. It also uses a new id
 * if the form's id is not one of this site's forms, or not in the bucket of `near`. `insert` throws `ALREADY_EXISTS` for a taken id.
 */
export async function insertOnce<In, Out>(
  kind: Entities<In, Out> & { readonly store: DataStore },
  {
    once,
    near,
    isSame,
    insert,
  }: {
    readonly once: string | undefined
    readonly near?: string
    readonly isSame: (known: Item<Out>) => boolean
    readonly insert: (id: string) => Promise<unknown>
  },
): Promise<string> {
  const fresh = kind.store.newId(near === undefined ? {} : { near })
  const id = once !== undefined && isFormId(once, near) ? once : fresh
  try {
    await insert(id)
    return id
  } catch (error) {
    if (!isThere(error)) throw error
  }
  const known = await kind.get(id)
  if (known !== undefined && isSame(known)) return id
  await insert(fresh)
  return fresh
}

/** Forms have ids of version 7. Other versions are derived ids, whose entity may be created later and must not be taken. */
function isFormId(id: string, near: string | undefined): boolean {
  if (!isId(id) || id.charAt(14) !== '7') return false
  if (near === undefined) return true
  const [own, other] = [parseId(id), parseId(near)]
  // A batch that writes the entity at `near` refuses a second write of its id.
  return bucketOfId(own) === bucketOfId(other) && Buffer.compare(own, other) !== 0
}
