import { deriveId } from 'looseleaf'
import type { SiteData } from '../../kinds/site-data.ts'
import { isThere } from './unless-there.ts'

type Settings = SiteData['settings']

/** Returns a setting, and creates it by `make` if it does not exist. If processes race, `insert` lets one win, and all return its value. */
export async function settingOnce(settings: Settings, name: string, make: () => string): Promise<string> {
  const known = await readSetting(settings, name)
  if (known !== undefined) return known
  try {
    return (await settings.insert({ name, value: make() }, { id: settingId(name) })).value
  } catch (error) {
    const winner = isThere(error) ? await readSetting(settings, name) : undefined
    if (winner === undefined) throw error
    return winner
  }
}

export async function readSetting(settings: Settings, name: string): Promise<string | undefined> {
  return (await settings.get(settingId(name)))?.value
}

export async function writeSetting(settings: Settings, name: string, value: string): Promise<void> {
  await settings.put({ name, value }, { id: settingId(name) })
}

function settingId(name: string): string {
  return deriveId('setting', name)
}
