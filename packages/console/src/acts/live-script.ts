import { createHash } from 'node:crypto'

/*
 * Puts what a stream brings in the place of what is there. Not while a button of it is held down or text of it is chosen, since
 * either would be lost, and with the focus and what was scrolled as they were. All that it does is to look again, so a page
 * without scripts lacks nothing.
 */
export const LIVE_SCRIPT = `
const part = document.getElementById('live'), told = document.getElementById('told')
new EventSource(part.dataset.stream).onmessage = ({ data }) => {
  if (part.querySelector(':active') || !getSelection().isCollapsed) return
  if (data === part.dataset.last) return
  part.dataset.last = data
  const focus = document.activeElement?.id
  const scrolled = Array.from(part.querySelectorAll('.scroll'), (one) => one.scrollLeft)
  part.innerHTML = data
  part.querySelectorAll('.scroll').forEach((one, i) => (one.scrollLeft = scrolled[i] ?? 0))
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true })
  const now = part.firstElementChild.dataset.told
  if (told.textContent !== now) told.textContent = now
}
`

export const LIVE_SCRIPT_HASH: string = createHash('sha256').update(LIVE_SCRIPT).digest('base64')
