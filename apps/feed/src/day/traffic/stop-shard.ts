import type { Browser } from './browser.ts'

/** Path of the page whose acts stop shards. */
export const FAULTS_PATH = '/store/faults'

/** A shard that the site believes to be down. */
export interface StoppedShard {
  readonly name: string
  /** Brings it back. Does nothing if its minute has passed. */
  bringBack(): Promise<void>
}

/** Stops a shard in the process of the site, by the button of its window. The other processes still reach it. */
export async function stopShard(url: string, window: Browser, number: number): Promise<StoppedShard> {
  const page = `${url}${FAULTS_PATH}`
  const { text } = await window.get(page)
  const names = [...text.matchAll(/name="stop" value="([^"]+)"/g)].map(([, name]) => name as string)
  const name = names[number]
  if (name === undefined) throw new RangeError(`There is no shard ${number}; the site has ${names.length}.`)
  const { status } = await window.post(page, { stop: name, sure: 'yes' })
  if (status !== 303) throw new Error(`The site did not stop the shard ${name}: status ${status}.`)
  return {
    name,
    async bringBack() {
      const [, act, about] = /name="(end)" value="([^"]+)"/.exec((await window.get(page)).text) ?? []
      if (act !== undefined && about !== undefined) await window.post(page, { [act]: about })
    },
  }
}
