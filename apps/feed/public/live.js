// New entries, keys, likes without a reload, and drafts. Every page works without this script.

const $ = (selector, within = document) => within.querySelector(selector)
const { viewer } = document.body.dataset
const main = $('#main')
const { live: since, media } = main.dataset
const { title } = document
const strip = $('.strip')
const isLive = since || viewer || strip

/** Reads or writes a text of the browser's storage, which may be forbidden. */
const stored = (key, value) => {
  try {
    if (value === undefined) return localStorage.getItem(key)
    if (value) localStorage.setItem(key, value)
    else localStorage.removeItem(key)
  } catch {}
}
const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties)
  element.append(...children)
  return element
}

/** Returns the page that answers a request, and its address. Throws the words of an error page. */
async function load(address, options) {
  const reply = await fetch(address, options).catch(() => {
    throw new Error('The site did not answer. Please try again.')
  })
  const page = new DOMParser().parseFromString(await reply.text(), 'text/html')
  if (reply.ok) return { page, url: reply.url }
  throw new Error([...page.querySelectorAll('h1, h1 ~ p')].map((line) => line.textContent).join(': '))
}

// Screen readers know a list of entries as a feed.
const list = $('.entries', main)
const feed = list && make('div', { role: 'feed', ariaLabel: 'Entries' })
if (list) {
  list.replaceWith(feed)
  feed.append(list)
  list.role = 'none'
}

// The bar lies over the page, so it moves nothing.

const pill = make('button', { className: 'pill', hidden: true, onclick: () => showNew() })
const errors = make('p', { className: 'alert', role: 'alert', hidden: true })
const pause = make(
  'button',
  { className: 'quiet', role: 'switch', onclick: () => setPaused(!stored('paused')) },
  'Live',
)
const help = make('button', { className: 'quiet', ariaLabel: 'Keys', onclick: () => dialog.showModal() }, '?')
const bar = make(
  'aside',
  { className: 'live-bar', ariaLabel: 'Live' },
  errors,
  make('div', { role: 'status' }, pill),
)
bar.append(...(isLive ? [pause, help] : [help]))
document.body.append(bar)

const tell = (text = '') => {
  errors.textContent = text
  errors.hidden = !text
}

// One tab of a browser has the stream, and passes its events on to the others.

let arrived = []
let added
let source
let timer
let leave
const channel = new BroadcastChannel(`live ${viewer}`)
channel.onmessage = ({ data }) => (data ? receive(data) : source && connect())

function receive(data) {
  const { unread, entries, strip: texts, cut, live } = JSON.parse(data)
  const isOpen = source?.readyState === 1
  setCut(cut && !isOpen)
  // Without locks, each tab has a stream. One that is cut off gets the events of the others, and is told so at once.
  if (cut && isOpen) channel.postMessage('{"live":true}')
  if (cut || live) return
  if (texts) return strip?.querySelectorAll('b').forEach((place, i) => (place.textContent = texts[i]))
  setUnread(unread)
  if (!since) return
  // An event has the 20 newest entries of all media. Older ones of this page may have arrived before.
  const last = entries.at(-1)?.[1]
  arrived = [...entries, ...arrived.filter(([, at]) => at < last)]
    .filter(([id, at, kind]) => at > since && (!media || kind === media) && !$(`#e-${id}`))
    .slice(0, 20)
  draw()
}

/** Shows whether events can arrive. Without that, a page that stands still looks as if nothing happened on the site. */
function setCut(cut) {
  const text = cut ? 'Not live' : 'Live'
  if (pause.textContent !== text) pause.textContent = text
}

function setUnread(count) {
  const badge = $('.tabs .count')
  if (!badge || count === undefined) return
  badge.firstChild.data = count
  badge.hidden = !+count
}

function draw() {
  const { length } = arrived
  // Of more entries, only 20 are kept.
  const count = length < 20 ? length : '20+'
  const text = length ? `${count} new` : added ? 'New entries above' : ''
  if (pill.textContent !== text) pill.textContent = text
  pill.hidden = !text
  document.title = length ? `(${count}) ${title}` : title
}

function connect() {
  clearTimeout(timer)
  source?.close()
  source = new EventSource(viewer ? `/live?person=${viewer}` : '/live')
  const pass = (data) => {
    receive(data)
    channel.postMessage(data)
  }
  source.onmessage = ({ data }) => pass(data)
  source.addEventListener('end', () => {
    source.close()
    pass('{"cut":true}')
  })
  source.onerror = () => {
    pass('{"cut":true}')
    // The site has no room for the stream, or is away behind its proxy.
    if (source?.readyState === 2) timer = setTimeout(connect, 6e4 * (1 + Math.random()))
  }
}

function start() {
  const paused = stored('paused')
  pause.ariaChecked = !paused
  if (paused || leave || !isLive) return
  const stopped = new AbortController()
  const { signal } = stopped
  leave = () => stopped.abort()
  const lead = () => {
    connect()
    return new Promise((resolve) => signal.addEventListener('abort', resolve))
  }
  // The leading tab connects again, and gets the events that this page missed while it was loading.
  channel.postMessage('')
  // A site without https has no locks, except on this machine.
  if (navigator.locks) navigator.locks.request(channel.name, { signal }, lead).catch(() => {})
  else lead()
}

function stop() {
  clearTimeout(timer)
  source?.close()
  leave?.()
  source = leave = undefined
  setCut(false)
}

function setPaused(paused) {
  stored('paused', paused ? 'yes' : '')
  stop()
  if (paused) arrived = []
  draw()
  start()
}

addEventListener('storage', ({ key, newValue }) => key === 'paused' && setPaused(newValue))
addEventListener('pagehide', stop)
addEventListener('pageshow', ({ persisted }) => persisted && start())

async function showNew() {
  if (!arrived.length) {
    added?.focus()
    added = undefined
    return draw()
  }
  if (feed) feed.ariaBusy = true
  try {
    const { page } = await load(location.pathname + location.search)
    const cards = [...page.querySelectorAll('.entries > li > article')]
    const fresh = cards.filter(({ id }) => arrived.some(([of]) => id === `e-${of}`) && !$(`#${id}`))
    // If the pages have no entry in common, there may be others between them.
    if (!feed || !cards.some(({ id }) => $(`#${id}`))) return location.reload()
    const place = current() ?? items().find((item) => item.getBoundingClientRect().bottom > 0) ?? main
    const { top } = place.getBoundingClientRect()
    // The entries on the page have grown older.
    for (const card of cards) {
      const time = $('time', card)
      if (time) $(`#${card.id} time`)?.replaceWith(time)
    }
    list.prepend(...fresh.map((card) => card.parentElement))
    scrollBy({ top: place.getBoundingClientRect().top - top, behavior: 'instant' })
    added = fresh[0]
    arrived = []
    update(page)
    draw()
  } catch ({ message }) {
    tell(message)
  }
  if (feed) feed.ariaBusy = null
}

/** Updates the page after a change of its list. */
function update(page) {
  setUnread($('.tabs .count', page)?.firstChild.data)
  number()
  tell()
}

addEventListener('submit', async (event) => {
  const { target: form, submitter: button } = event
  const act = /\/(like|unlike|hide|show)$/.exec(button?.getAttribute('formaction'))?.[1]
  const card = button?.closest('article, .entries .notice')
  if (!act || !card) return
  event.preventDefault()
  if (button.ariaBusy) return
  button.ariaBusy = true
  try {
    const { page, url } = await load(button.formAction, {
      method: 'POST',
      body: new URLSearchParams(new FormData(form, button)),
    })
    const id = card.id || card.dataset.of
    const next = $(act === 'hide' ? '.notice' : id ? `#${id}` : 'article', page)
    if (!next) return location.assign(url)
    // A feed contains only articles.
    if (act === 'hide')
      Object.assign(next, { role: 'article', ariaLabel: $('p', next).textContent }).dataset.of = id
    const focused = document.activeElement
    card.replaceWith(next)
    update(page)
    if (card === focused) next.focus()
    else if (card.contains(focused)) ($('[formaction$=like]', next) ?? next).focus()
  } catch ({ message }) {
    tell(message)
  }
  button.ariaBusy = null
})

// Keys.

const items = () => [...main.querySelectorAll('.entries > li > *, .whole')]
const current = () => document.activeElement.closest('.entries > li > *, .whole')
const click = (selector, within = current() ?? $('.whole')) => within && $(selector, within)?.click()

/** Tells screen readers the places of entries. */
function number() {
  for (const [i, item] of items().entries()) {
    item.tabIndex = -1
    if (!feed) continue
    item.parentElement.role = 'none'
    Object.assign(item, { ariaPosInSet: i + 1, ariaSetSize: -1 })
  }
}

function move(step) {
  const all = items()
  const at = all.indexOf(current())
  const next = at < 0 ? all.find((item) => item.getBoundingClientRect().top >= 0) : all[at + step]
  next?.focus()
}

const keys = {
  j: ['next entry', () => move(1)],
  k: ['previous entry', () => move(-1)],
  o: ['open the entry, like Enter', () => click('.when')],
  // For visitors, liking is a link to the sign-in page.
  l: ['like, or unlike', () => click('[formaction$=like], .actions > [href^="/sign-in"]')],
  c: ['comment', () => click('[href$="#comment"]') ?? $('#comment')?.focus()],
  h: ['hide', () => click('[formaction$="/hide"]')],
  u: ['undo hiding', () => click('[formaction$="/show"]', current()?.dataset.of ? current() : main)],
  '/': ['search', () => $('[type=search]')?.focus()],
  '.': ['show new entries', () => pill.click()],
  '?': ['this help', () => dialog.showModal()],
}

const tick = make('input', { type: 'checkbox', checked: !stored('no keys') })
tick.onchange = () => stored('no keys', tick.checked ? '' : 'yes')
const dialog = make(
  'dialog',
  { className: 'keys', ariaLabel: 'Keys' },
  make('h2', {}, 'Keys'),
  make(
    'dl',
    {},
    ...Object.entries(keys).flatMap(([key, [does]]) => [make('dt', {}, key), make('dd', {}, does)]),
  ),
  make('label', {}, tick, ' Use these keys'),
  make('button', { onclick: () => dialog.close() }, 'Close'),
)
document.body.append(dialog)

addEventListener('keydown', (event) => {
  const { key, target } = event
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return
  if (!tick.checked || dialog.open || target.closest('input, textarea, select, [contenteditable]')) return
  const act = key === 'Enter' ? target === current() && keys.o : Object.hasOwn(keys, key) && keys[key]
  if (!act) return
  event.preventDefault()
  act[1]()
})

number()
start()

// Drafts stay until a page has the id of their form in its address: that of the posted text.

for (const key of Object.keys(localStorage))
  if (key.startsWith('draft ') && location.href.includes(JSON.parse(stored(key)).once)) stored(key, '')

for (const form of document.querySelectorAll('form:has([name=once])')) {
  const key = `draft ${viewer} ${form.getAttribute('action')}`
  const fields = [...form.elements].filter(({ name, type }) => name === 'once' || /^text/.test(type))
  const isEmpty = () => fields.every(({ name, value }) => name === 'once' || !value)
  const draft = JSON.parse(stored(key) ?? '{}')
  if (isEmpty()) for (const field of fields) field.value = draft[field.name] ?? field.value
  form.oninput = () =>
    stored(
      key,
      isEmpty() ? '' : JSON.stringify(Object.fromEntries(fields.map(({ name, value }) => [name, value]))),
    )
}
