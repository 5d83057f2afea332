import { isId, isLooseleafError, type DataStore, type Entities, type Item } from 'looseleaf'

/** How something is posted. */
export interface PostOptions {
  /** The id that its form was made with. */
  readonly once?: string | undefined
  readonly now?: Date
}

/**
 * Writes what a form has sent, under the id that the form was made with: of a form that is sent twice, the second finds
 * there what the first has written. Answers with the id. Whoever goes back and sends the form with other words, which
 * `isSame` does not know again, has written another thing. An id that no form of this site was made with, or that is
 * not beside `near`, is not taken.
 */
export async function insertOnce<In, Out>(
  kind: Entities<In, Out> & { readonly store: DataStore },
  value: NoInfer<In>,
  {
    once,
    near,
    isSame,
  }: {
    readonly once: string | undefined
    readonly near?: string
    readonly isSame: (known: Item<Out>) => boolean
  },
): Promise<string> {
  const fresh = kind.store.newId(near === undefined ? {} : { near })
  const id = once !== undefined && isFormId(once, near) ? once : fresh
  try {
    await kind.insert(value, { id })
    return id
  } catch (error) {
    if (!isLooseleafError(error, 'ALREADY_EXISTS')) throw error
  }
  const known = await kind.get(id)
  if (known !== undefined && isSame(known)) return id
  await kind.insert(value, { id: fresh })
  return fresh
}

/** Forms have ids of version 7; those of other versions are derived, and what they name may be yet to come. */
function isFormId(id: string, near: string | undefined): boolean {
  return isId(id) && id.charAt(14) === '7' && (near === undefined || id.slice(15, 18) === near.slice(15, 18))
}
