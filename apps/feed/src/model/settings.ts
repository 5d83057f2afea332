import { deriveId, isLooseleafError, type DataStore } from 'looseleaf'

/** A setting is an entity like any other; `insert` makes the first process to ask the one that decides it. */
export async function settingOnce(store: DataStore, name: string, make: () => string): Promise<string> {
  const known = await readSetting(store, name)
  if (known !== undefined) return known
  const value = make()
  try {
    await store.insert({ kind: 'setting', name_of_setting: name, value }, { id: settingId(name) })
    return value
  } catch (error) {
    const theirs = isLooseleafError(error, 'ALREADY_EXISTS') ? await readSetting(store, name) : undefined
    if (theirs === undefined) throw error
    return theirs
  }
}

export async function readSetting(store: DataStore, name: string): Promise<string | undefined> {
  const value = (await store.get(settingId(name)))?.['value']
  return typeof value === 'string' ? value : undefined
}

export async function writeSetting(store: DataStore, name: string, value: string): Promise<void> {
  await store.put({ kind: 'setting', name_of_setting: name, value }, { id: settingId(name) })
}

function settingId(name: string): string {
  return deriveId('setting', name)
}
